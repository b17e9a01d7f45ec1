"""One page on which an operator sees a fleet: is the model good, who is silent or broken, the cost.

view  all that the page shows, as values for JSON, and what is different in the next view; what is
      the matter, in a sentence
feed  one thread asks the server's loop, and tells readers of `/events` what is different
page  the page as one file: its template with page.css, and script/ in the order of its names
"""
