"""The device in C, for microcontrollers: its sources, and the header made for one fleet."""
