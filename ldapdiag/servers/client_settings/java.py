"""Java: JNDI, the LDAP client of the JDK, and what is built on it or beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.client_settings.values import (
    ANSWER_TIMEOUT,
    CONNECT_TIMEOUT,
    ClientSoftware,
    ClientValues,
    client_remedy,
)

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy

PROGRAMS = frozenset({"java", "jsvc"})
POOL_TIMEOUT = "com.sun.jndi.ldap.connect.pool.timeout"
POOL_PROTOCOLS = 'com.sun.jndi.ldap.connect.pool.protocol="plain ssl"'
RECONNECTS = "A request after a pause opens a new connection."
UNDO = "Remove the lines, and start the application again."
HEALTH_CHECK = 60
"""Seconds: the default interval of the health check of UnboundID's pool."""


def set_jndi(values: ClientValues) -> Remedy:
    """Close idle connections of the pool of JNDI.

    PoolCleaner of the JDK wakes up once in the pool's timeout and closes what was idle for at least as long, so a
    connection stays up to twice the timeout. The sources of JDK 6 to 17 agree; measured with 17.
    """
    return client_remedy(
        values,
        "JNDI (Java)",
        text=f"# options of java:\n-D{POOL_TIMEOUT}={1000 * values.within_half}\n-D{POOL_PROTOCOLS}\n"
        "# environment of the context:\ncom.sun.jndi.ldap.connect.pool=true\n"
        f"com.sun.jndi.ldap.connect.timeout={1000 * CONNECT_TIMEOUT}\n"
        f"com.sun.jndi.ldap.read.timeout={1000 * ANSWER_TIMEOUT}",
        changes=f"Connections that are idle for {values.within_half:,} to {2 * values.within_half:,} s are closed; by "
        "default none is. The first two are system properties: in the environment of a context they have no effect. "
        "With Spring LDAP or the UnboundID SDK: use the settings of that library instead.",
        risk=f"{RECONNECTS} JNDI sets no keepalive. An answer that takes longer than {ANSWER_TIMEOUT} s is given up.",
        undo=UNDO,
    )


def set_spring(values: ClientValues) -> Remedy:
    """Validate and evict connections of Spring LDAP's pool.

    Commons Pool tests three connections at each run by default; -1: all. An evictable one waits for the next run.
    """
    milliseconds = 1000 * values.within_half
    return client_remedy(
        values,
        "Spring LDAP",
        text="\n".join(
            [
                "contextSource.setPooled(false);    // not JNDI's pool",
                "contextSource.setBaseEnvironmentProperties(Map.of(",
                f'    "com.sun.jndi.ldap.connect.timeout", "{1000 * CONNECT_TIMEOUT}",',
                f'    "com.sun.jndi.ldap.read.timeout", "{1000 * ANSWER_TIMEOUT}"));',
                "PoolConfig config = new PoolConfig();",
                "config.setTestOnBorrow(true);",
                "config.setTestWhileIdle(true);",
                f"config.setMinEvictableIdleTimeMillis({milliseconds}L);",
                f"config.setTimeBetweenEvictionRunsMillis({milliseconds}L);",
                "config.setNumTestsPerEvictionRun(-1);    // all, not 3",
                "PooledContextSource pooled = new PooledContextSource(config);",
                "pooled.setContextSource(contextSource);",
                "pooled.setDirContextValidator(new DefaultDirContextValidator());",
            ]
        ),
        changes=f"The pool closes connections after {values.within_half:,} to {values.longest_idle:,} s of idle time, "
        "and validates each one before use (package org.springframework.ldap.pool2, since 2.1).",
        risk=f"{RECONNECTS} One small search before each use. Without read.timeout the validator waits for a dead "
        "connection until the kernel gives up (spring-ldap issue 567).",
        undo=UNDO,
    )


def set_unboundid(values: ClientValues) -> Remedy:
    """Replace old and idle connections in the pool of UnboundID's SDK."""
    interval = min(HEALTH_CHECK, values.within_half)
    return client_remedy(
        values,
        "the UnboundID LDAP SDK",
        text="\n".join(
            [
                "options.setUseKeepAlive(true);    // LDAPConnectionOptions; the kernel's times",
                f"options.setResponseTimeoutMillis({1000 * ANSWER_TIMEOUT}L);",
                f"pool.setHealthCheckIntervalMillis({1000 * interval}L);",
                f"pool.setMaxConnectionAgeMillis({1000 * (values.longest_idle - interval)}L);",
                "pool.setRetryFailedOperationsDueToInvalidConnections(true);",
            ]
        ),
        changes=f"The pool replaces every connection before it is {values.longest_idle:,} s old, idle or not, and "
        "repeats an operation on a new connection where the old one was closed. Since 7.0.1, "
        f"pool.setHealthCheck(new MaximumIdleDurationLDAPConnectionPoolHealthCheck("
        f"{1000 * (values.longest_idle - interval)}L)) replaces only idle ones.",
        risk=f"{RECONNECTS} A write whose answer was lost is repeated.",
        undo=UNDO,
    )


def set_keycloak(values: ClientValues) -> Remedy:
    """Close idle connections of Keycloak, which uses the pool of JNDI."""
    return client_remedy(
        values,
        "Keycloak",
        text=f"JAVA_OPTS_APPEND='-D{POOL_TIMEOUT}={1000 * values.within_half} -D{POOL_PROTOCOLS}'",
        changes=f"Connections that are idle for {values.within_half:,} to {2 * values.within_half:,} s are closed. "
        "Since 25.0.2 only system properties configure the pool; it is used if Connection pooling of the LDAP "
        "provider is on. Set its Connection timeout and Read timeout, too (milliseconds).",
        risk=RECONNECTS,
        undo="Remove the properties, and start Keycloak again.",
    )


JNDI = ClientSoftware(
    name="JNDI", programs=PROGRAMS, setting=POOL_TIMEOUT, source="measured with OpenJDK 17", remedy=set_jndi
)
SPRING = ClientSoftware(
    name="Spring LDAP",
    programs=frozenset(),
    setting="testOnBorrow, minEvictableIdleTimeMillis",
    source="from its reference; compiled with 3.2.6, not tested",
    remedy=set_spring,
)
UNBOUNDID = ClientSoftware(
    name="UnboundID LDAP SDK",
    programs=frozenset(),
    setting="setMaxConnectionAgeMillis",
    source="from its documentation; compiled with 7.0.1, not tested",
    remedy=set_unboundid,
)
KEYCLOAK = ClientSoftware(
    name="Keycloak",
    programs=frozenset({"keycloak", "kc.sh"}),
    setting=POOL_TIMEOUT,
    source="from its documentation and pull requests 30679 and 30996, not tested",
    remedy=set_keycloak,
)
