"""A fleet's model outside the fleet: taken out, written to files, predicted with; NumPy alone.

reported    intervals around a target, by the errors that devices report
asked_inputs what a reading must hold, by name, and what is refused
predictor   predictions, and the model as JSON
fleet_model the model as it is taken out of a server, and its files
sample_lines samples as lines of CSV or JSON
"""
