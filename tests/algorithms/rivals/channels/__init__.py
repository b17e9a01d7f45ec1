"""What travels: codecs there and back, published equations, examples worked out by hand."""
