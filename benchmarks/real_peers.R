# Predictions of flexmix and lme4 for benchmarks/real_methods.py. The working directory holds
# train.csv and test.csv (y, x..., and group unless rows stand alone); writes predicted.csv.
# Arguments: method, 1 for an intercept, 1 if the persons of the test rows are known, seed.

arguments <- commandArgs(trailingOnly = TRUE)
method <- arguments[1]
intercept <- arguments[2] == "1"
known <- arguments[3] == "1"
set.seed(as.integer(arguments[4]))

train <- read.csv("train.csv")
test <- read.csv("test.csv")
terms <- c(if (intercept) "1" else "0", grep("^x", names(train), value = TRUE))
terms <- paste(terms, collapse = " + ")

# Two components, the best of three random starts. Weights are the prior ones, or those that the
# training rows of the same person give.
predict_flexmix <- function() {
  suppressMessages(library(flexmix))
  formula <- paste("cbind(y, 1 - y) ~", terms, if ("group" %in% names(train)) "| group")
  fit <- stepFlexmix(as.formula(formula), data = train, k = 2, nrep = 3, verbose = FALSE,
                     model = FLXMRglm(family = "binomial"))
  each <- do.call(cbind, predict(fit, newdata = test))
  weights <- matrix(prior(fit), nrow(test), ncol(each), byrow = TRUE)
  if (known) weights <- posterior(fit)[match(test$group, train$group), , drop = FALSE]
  rowSums(weights * each)
}

# A random intercept for each person: its conditional mode, or integrated out.
predict_lme4 <- function() {
  suppressMessages(library(lme4))
  formula <- as.formula(paste("y ~", terms, "+ (1 | group)"))
  fit <- glmer(formula, data = train, family = binomial)
  if (known) return(predict(fit, newdata = test, type = "response"))
  score <- predict(fit, newdata = test, re.form = NA)
  deviation <- attr(VarCorr(fit)$group, "stddev")
  rule <- GHrule(25)
  as.vector(plogis(outer(score, deviation * rule[, "z"], "+")) %*% rule[, "w"])
}

predicted <- switch(method, flexmix = predict_flexmix(), lme4 = predict_lme4())
write.csv(data.frame(p = as.vector(predicted)), "predicted.csv", row.names = FALSE)
