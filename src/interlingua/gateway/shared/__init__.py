"""Words that several rooms of the gateway share; it knows none of them."""
