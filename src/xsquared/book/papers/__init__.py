"""What the two papers state: equations with their derivations, claims, errata."""
