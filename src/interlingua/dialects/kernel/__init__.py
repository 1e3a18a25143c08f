"""What every dialect is made of: tables of fields that are read both ways, what is kept for the
sender, one error with one path, the account of losses, and what streams share. It knows the model
and no dialect."""
