"""The wording, and nothing else: one Jinja2 template a call, each with a `system` and a `user` block."""
