package gateway

import "runtime"

// A check of the answers of an application takes memory and a processor: a job may ask 300 questions of 500 options. A
// tenant has half of the places at most, so that one job keeps no other tenant waiting.

// checksAtOnce is how many applications are checked and stored at once.
func checksAtOnce() int64 { return int64(max(4, 2*runtime.GOMAXPROCS(0))) }

// pagesAtOnce is how many pages of the console are made at once. That of a large job takes 2.4 MB, and half a second of a
// processor; a person has half of the places at most.
func pagesAtOnce() int64 { return int64(max(8, 4*runtime.GOMAXPROCS(0))) }

// previewsAtOnce is how many bodies with answers of up to 24 MiB the management API holds at once, to say what would be
// refused of them.
const previewsAtOnce = 4
