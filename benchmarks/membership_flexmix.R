# Called by membership_flexmix.py: the log-likelihood at which flexmix ends from given posteriors.
# rows.csv: y, group, features x0, x1, ..., covariates z0, z1, ..., posteriors p1, p2, ...
suppressMessages(library(flexmix))
arguments <- commandArgs(TRUE)  # covariates: 1 or 0; then the shared features
d <- read.csv("rows.csv")
x <- grep("^x[0-9]+$", names(d), value = TRUE)
z <- grep("^z[0-9]+$", names(d), value = TRUE)
start <- as.matrix(d[grep("^p[0-9]+$", names(d))])
shared <- arguments[-1]
formula <- as.formula(paste("cbind(y, 1 - y) ~ 0 +", paste(setdiff(x, shared), collapse = " + "), "| group"))
model <- FLXMRglm(family = "binomial")
if (length(shared) > 0) {
  fixed <- as.formula(paste("~ 0 +", paste(shared, collapse = " + ")))
  model <- FLXMRglmfix(fixed = fixed, family = "binomial")
}
concomitant <- FLXPconstant()
if (arguments[1] == "1") concomitant <- FLXPmultinom(as.formula(paste("~", paste(z, collapse = " + "))))
fit <- flexmix(formula, data = d, k = ncol(start), model = model, concomitant = concomitant, cluster = start,
               control = list(tolerance = 1e-12, iter.max = 5000, minprior = 0))
cat(format(as.numeric(logLik(fit)), digits = 15), attr(logLik(fit), "df"), fit@iter, "\n")
