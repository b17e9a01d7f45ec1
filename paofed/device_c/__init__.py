"""The device in C, for microcontrollers: its sources, and the header that makes it one fleet's."""
