"""A diagnosis for the monitoring that people have: metrics of Prometheus, and the output of a Nagios plug-in."""
