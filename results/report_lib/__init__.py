"""The parts of results/report.py, which makes a page of pictures from a results file.

Data flows: reader -> trials, scores, images -> pictures_* -> sections -> page -> output; of CSV files points ->
pictures_model, pictures_scaling -> measurements -> page. tables and compare stand beside it. Nothing here prints or exits; what is wrong with a file is raised as reader.BadInput or reader.Damaged.
"""
