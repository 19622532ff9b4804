# Predictions of flexmix, lme4 and bayesm for benchmarks/real_methods.py. The working directory holds
# train.csv and test.csv (y, x..., and group unless rows stand alone); writes predicted.csv.
# Arguments: package, its variant, 1 for an intercept, 1 if the persons of the test rows are known,
# seed. Prints the processor seconds, packages loaded before, and the peak memory in megabytes (Linux).

arguments <- commandArgs(trailingOnly = TRUE)
package <- arguments[1]
variant <- arguments[2]
intercept <- arguments[3] == "1"
known <- arguments[4] == "1"
set.seed(as.integer(arguments[5]))

train <- read.csv("train.csv")
test <- read.csv("test.csv")
features <- grep("^x", names(train), value = TRUE)
terms <- paste(c(if (intercept) "1" else "0", features), collapse = " + ")

# Features, after a column of ones if there is an intercept.
design <- function(rows, ones = intercept) {
  columns <- as.matrix(rows[features])
  if (ones) cbind("(Intercept)" = 1, columns) else columns
}

# k components, the best of three random starts. Weights are the prior ones, or those that the
# training rows of the same person give.
predict_flexmix <- function(k) {
  formula <- paste("cbind(y, 1 - y) ~", terms, if ("group" %in% names(train)) "| group")
  fit <- stepFlexmix(as.formula(formula), data = train, k = k, nrep = 3, verbose = FALSE,
                     model = FLXMRglm(family = "binomial"))
  each <- do.call(cbind, predict(fit, newdata = test))
  weights <- matrix(prior(fit), nrow(test), ncol(each), byrow = TRUE)
  if (known) weights <- posterior(fit)[match(test$group, train$group), , drop = FALSE]
  rowSums(weights * each)
}

# Random effects of each person: their conditional mode, or integrated out. Variants: "intercept";
# "diagonal", uncorrelated coefficients of all features; "full", correlated ones; "slopes", of the
# last two the one of smaller BIC, "full" only with at most 6 features. Slopes are fitted with
# nAGQ = 0, a coarser approximation of the likelihood: with the default, many do not finish. More
# random effects than rows are allowed.
predict_lme4 <- function(variant) {
  control <- glmerControl(check.nobs.vs.nRE = "ignore")
  slopes <- c("diagonal", if (length(features) <= 6) "full")
  fits <- lapply(if (variant == "slopes") slopes else variant, function(effects) {
    random <- switch(effects, intercept = "(1 | group)", diagonal = paste("(", terms, "|| group)"),
                     full = paste("(", terms, "| group)"))
    formula <- as.formula(paste("y ~", terms, "+", random))
    nodes <- if (effects == "intercept") 1 else 0
    tryCatch(glmer(formula, data = train, family = binomial, nAGQ = nodes, control = control),
             error = function(e) NULL)
  })
  fits <- Filter(Negate(is.null), fits)
  fit <- fits[[which.min(sapply(fits, BIC))]]
  if (known) return(predict(fit, newdata = test, type = "response"))
  score <- predict(fit, newdata = test, re.form = NA)
  columns <- design(test, ones = TRUE)
  variance <- 0
  for (block in VarCorr(fit)) {
    part <- columns[, rownames(block), drop = FALSE]
    variance <- variance + rowSums((part %*% block) * part)
  }
  rule <- GHrule(25)
  plogis(score + outer(sqrt(variance), rule[, "z"])) %*% rule[, "w"]
}

# Hierarchical Bayes: coefficients of each person, from a mixture of `ncomp` normal distributions.
# A label is a choice between x and 0. Priors are the defaults of bayesm. Of 12,000 draws, every
# tenth is kept, the first third not. Averages over draws of the person's coefficients, or over
# coefficients of new persons, five for each draw of the mixture.
predict_bayesm <- function(ncomp) {
  X <- design(train)
  persons <- split(seq_len(nrow(train)), train$group)
  lgtdata <- lapply(unname(persons), function(rows) {
    pairs <- matrix(0, 2 * length(rows), ncol(X))
    pairs[c(TRUE, FALSE), ] <- X[rows, ]
    list(y = 2 - train$y[rows], X = pairs)
  })
  fit <- rhierMnlRwMixture(Data = list(p = 2, lgtdata = lgtdata), Prior = list(ncomp = ncomp),
                           Mcmc = list(R = 12000, keep = 10, nprint = 0))
  kept <- 401:1200
  X <- design(test)
  if (!known) {
    new_person <- function(draw) {
      component <- sample(ncomp, 1, prob = fit$nmix$probdraw[draw, ])
      normal <- fit$nmix$compdraw[[draw]][[component]]
      normal$mu + crossprod(backsolve(normal$rooti, diag(ncol(X))), rnorm(ncol(X)))
    }
    return(rowMeans(plogis(X %*% sapply(rep(kept, 5), new_person))))
  }
  predicted <- numeric(nrow(test))
  for (rows in split(seq_len(nrow(test)), test$group)) {
    person <- match(test$group[rows[1]], names(persons))
    draws <- matrix(fit$betadraw[person, , kept], ncol(X))
    predicted[rows] <- rowMeans(plogis(X[rows, , drop = FALSE] %*% draws))
  }
  predicted
}

suppressMessages(library(package, character.only = TRUE))
begin <- proc.time()
predicted <- switch(package, flexmix = predict_flexmix(as.integer(variant)),
                    lme4 = predict_lme4(variant), bayesm = predict_bayesm(as.integer(variant)))
write.csv(data.frame(p = as.vector(predicted)), "predicted.csv", row.names = FALSE)
seconds <- sum((proc.time() - begin)[c("user.self", "sys.self")])
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("\ncost", seconds, as.numeric(gsub("[^0-9]", "", peak)) / 1024, "\n")
