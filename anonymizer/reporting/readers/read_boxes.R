# Reads boxes by one-way tables: Rscript read_boxes.R > shares.csv, in the folder of one_way.csv and boxes.csv.
# A row says how much of the records in boxes of one cell and size has an atom, a row of the column in one_way.csv.
read <- function(name) read.csv(name, colClasses = "character", na.strings = character(0), encoding = "UTF-8")
places <- function(text) unlist(lapply(strsplit(strsplit(text, " ")[[1]], "-"), function(run)
  seq(as.numeric(run[1]), as.numeric(run[length(run)]))))
at_least_one <- function(x) ifelse(x > 1e-5, x / -expm1(-x), 1 + x / 2)
slope <- function(x) ifelse(x > 1e-5, (-expm1(-x) - x * exp(-x)) / expm1(-x)^2, 0.5 + x / 6)
expected <- function(n, u, sure) {  # u: of the open atoms; sure: which of them somebody surely has
  if (sum(sure) > n) sure <- rep(FALSE, length(u))
  free <- sum(u[!sure]); own <- u[sure]; rate <- n / sum(u)
  for (i in 1:60) {  # Newton's steps from above: the sum is convex in the rate
    step <- (rate * free + sum(at_least_one(rate * own)) - n) / (free + sum(own * slope(rate * own)))
    rate <- max(rate - step, 0)
    if (abs(step) <= 1e-13 * rate) break
  }
  e <- ifelse(sure, at_least_one(rate * u), rate * u)
  e * n / sum(e)
}
rake <- function(boxes, cells, counts, weights) {  # weights of atoms with which all boxes come nearest to the table
  total <- sum(sapply(boxes, function(b) b$n * b$times))
  goal <- counts * total / sum(counts)
  u <- best <- pmax(weights * (goal[cells] / tapply(weights, cells, sum)[cells]), 1e-9); least <- Inf
  for (i in 1:60) {
    now <- goal * 0
    for (b in boxes) {
      e <- tapply(b$times * expected(b$n, u[b$atoms], b$sure), cells[b$atoms], sum)
      now[as.integer(names(e))] <- now[as.integer(names(e))] + e
    }
    off <- sum(abs(goal - now))
    if (off < least - 1e-6 * total) { best <- u; least <- off }
    if (off < 1e-3 * total) break
    u <- u * ifelse(now > 0, pmin(20, pmax(1 / 20, goal / now)), 1)[cells]; u <- pmax(u / max(u), 1e-9)
  }
  best
}
table <- read("one_way.csv"); all <- read("boxes.csv"); rows <- list()
for (column in unique(table$column)) {
  own <- table[table$column == column, ]; kinds <- all[all$column == column, ]; cells <- as.integer(own$cell)
  boxes <- lapply(seq_len(nrow(kinds)), function(i) { b <- kinds[i, ]; atoms <- places(b$open)
    list(n = as.numeric(b$records), times = as.numeric(b$boxes), atoms = atoms, sure = atoms %in% places(b$sure)) })
  counts <- as.numeric(tapply(as.numeric(own$count), cells, function(x) x[1]))
  u <- as.vector(rake(boxes, cells, counts, as.numeric(own$weight)))
  rows <- c(rows, lapply(seq_along(boxes), function(i) { b <- boxes[[i]]
    data.frame(column, text = kinds$text[i], records = b$n, atom = b$atoms,
               share = signif(expected(b$n, u[b$atoms], b$sure) / b$n, 10)) }))
}
if (length(rows)) write.csv(do.call(rbind, rows), stdout(), row.names = FALSE)
