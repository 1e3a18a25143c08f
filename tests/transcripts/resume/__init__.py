"""The real tools, asked to go on with sessions that we wrote: is what they send the session?"""
