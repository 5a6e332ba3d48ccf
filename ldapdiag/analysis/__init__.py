"""Facts to joined facts. Pure. A provider is a function; its signature names the facts it joins."""
