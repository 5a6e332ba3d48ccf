"""Programs, run in hosts, that occupy the threads of a server: each is the text of a Python program."""

from __future__ import annotations

from pathlib import Path

FOLDER = str(Path(__file__).parent)

SILENT_HELPER = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(100)
accepted = []
while True:
    accepted.append(listener.accept())
"""
"""Accept each connection at the socket PATH, and never answer (slapd-sock(5))."""

READS_NOTHING = f"""
import socket, sys, time
sys.path.insert(0, {FOLDER!r})
from raw_ldap import Connection, element
address, name, base, count = sys.argv[1:]
opened = []
for number in range(int(count)):
    connected = socket.socket()
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connected.connect((address, 389))
    one = Connection(connected)
    opened.append(one)
    bind = element(2, b"\\x03") + element(4, name.encode()) + element(0x80, b"password")
    limits = b"".join(element(tag, b"\\x00") for tag in (0x0A, 0x02, 0x02, 0x01))
    search = element(4, base.encode()) + element(0x0A, b"\\x02") + limits
    one.send(element(0x60, bind))
    time.sleep(0.2)
    one.send(element(0x63, search + element(0x87, b"objectClass") + element(0x30, b"")))
while True:
    time.sleep(60)
"""
"""Search everything below BASE on COUNT connections to ADDRESS, and never read an answer."""

WRITE_LOCK = """
import ctypes, pathlib, sys, time
lmdb = ctypes.CDLL("liblmdb.so.0")
environment, transaction = ctypes.c_void_p(), ctypes.c_void_p()
assert lmdb.mdb_env_create(ctypes.byref(environment)) == 0
assert lmdb.mdb_env_set_mapsize(environment, ctypes.c_size_t(200_000_000)) == 0
assert lmdb.mdb_env_set_maxdbs(environment, 100) == 0
assert lmdb.mdb_env_open(environment, sys.argv[1].encode(), 0, 0o600) == 0
assert lmdb.mdb_txn_begin(environment, None, 0, ctypes.byref(transaction)) == 0
pathlib.Path(sys.argv[2]).touch()
while True:
    time.sleep(60)
"""
"""Begin a transaction that writes in the database in a FOLDER, touch a FILE, and never end it."""
