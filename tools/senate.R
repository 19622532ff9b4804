# Makes src/spectralmirror/datasets/senate109.csv.gz from the R package pscl (object s109):
#
#     apt-get install r-cran-pscl        (or, in R, install.packages("pscl"))
#     Rscript tools/senate.R src/spectralmirror/datasets/senate109.csv.gz
#
# One line for each roll call: what was voted on, then what each senator said (y, n or nothing). Only
# the public record is kept, and none of the numbers that political scientists have added to it.
data(s109, package = "pscl")

said <- matrix("", s109$m, s109$n)
said[t(s109$votes) %in% s109$codes$yea] <- "y"
said[t(s109$votes) %in% s109$codes$nay] <- "n"
colnames(said) <- rownames(s109$votes)

asked <- c("date", "session", "number", "bill", "question", "result", "description")
about <- as.data.frame(lapply(s109$vote.data[asked], as.character))

file <- gzfile(commandArgs(trailingOnly = TRUE), "w", compression = 9)
write.csv(cbind(about, said), file, row.names = FALSE)
close(file)
