"""A fleet's model outside the fleet: taken out, written to files, predicted with; NumPy alone.

reported    from where to where a target is, by the errors that devices report
inputs      what a reading has to say, by name, and what is refused
predictor   predictions, and the model as JSON
fleet_model the model as it is taken out of a server, and its files
"""
