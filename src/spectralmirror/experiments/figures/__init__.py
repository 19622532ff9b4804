"""Pictures of the experiments: `paper` draws its figures, `claims` those that we added."""
