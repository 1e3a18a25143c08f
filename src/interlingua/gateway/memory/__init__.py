"""What is kept between requests: signatures, responses, answers to repeat."""
