"""What a host's kernel and /proc print, by grammar."""
