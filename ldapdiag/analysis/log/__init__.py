"""Access logs, ranked: searches, clients, accounts and close reasons."""
