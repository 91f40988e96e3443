"""The ordered checks a request passes before anything is sent, and what they answer."""
