"""TrustZone-M (Armv8-M ARM, B3, B9, B12): which security state runs, and what belongs to which."""
