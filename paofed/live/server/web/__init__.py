"""What a running server shows over a small HTTP port, on this machine by default.

site         all of it, for whoever may see it; /health, /metrics, /status
answers      a question and an answer, without sockets
listener     the port, its threads, and which route a question takes
rights       who may ask what
page         / and /events, for people
predictions  /predict, /model
"""
