"""389 Directory Server, Red Hat Directory Server and the directory of FreeIPA."""
