"""Both ends joined: which of a server's connections still exist at the client."""
