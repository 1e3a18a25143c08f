"""Building blocks of all dialects: tables of fields, preserved raw data, errors, losses."""
