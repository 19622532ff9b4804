# Maximum likelihood by flexmix, mixtools and lme4 for benchmarks/peers.py. The working directory holds
# rows.csv (y, x..., and group unless rows stand alone). Arguments: package, classes, starts, 1 for an
# intercept, seed. Prints the log-likelihood, the processor seconds of the fit and the peak memory of
# the process in megabytes (Linux).
arguments <- commandArgs(trailingOnly = TRUE)
package <- arguments[1]
numbers <- as.integer(arguments[-1])
k <- numbers[1]
starts <- numbers[2]
intercept <- numbers[3] == 1
set.seed(numbers[4])
suppressMessages(library(package, character.only = TRUE))

rows <- read.csv("rows.csv")
grouped <- "group" %in% names(rows)
features <- grep("^x", names(rows), value = TRUE)
terms <- paste(c(if (intercept) "1" else "0", features), collapse = " + ")

by_flexmix <- function() {
  formula <- as.formula(paste("cbind(y, 1 - y) ~", terms, if (grouped) "| group"))
  fit <- stepFlexmix(formula, data = rows, k = k, nrep = starts, verbose = FALSE,
                     model = FLXMRglm(family = "binomial"))
  as.numeric(logLik(fit))
}

# Starts that end in an error are left out.
by_mixtools <- function() {
  X <- as.matrix(rows[features])
  fits <- lapply(seq_len(starts), function(start) {
    tryCatch(logisregmixEM(rows$y, X, k = k, addintercept = intercept)$loglik,
             error = function(e) -Inf)
  })
  max(unlist(fits))
}

# A random intercept, integrated by adaptive quadrature with 25 nodes.
by_lme4 <- function() {
  formula <- as.formula(paste("y ~", terms, "+ (1 | group)"))
  as.numeric(logLik(glmer(formula, data = rows, family = binomial, nAGQ = 25)))
}

begin <- proc.time()
fit <- switch(package, flexmix = by_flexmix, mixtools = by_mixtools, lme4 = by_lme4)
invisible(capture.output(value <- suppressWarnings(suppressMessages(fit()))))
seconds <- sum((proc.time() - begin)[c("user.self", "sys.self")])
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat(format(value, digits = 12), seconds, as.numeric(gsub("[^0-9]", "", peak)) / 1024, "\n")
