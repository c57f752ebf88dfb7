// Package model explores the contract of a claim exhaustively: every order in
// which the requests of a few claimers, their answers, crashes, time-outs, the
// clock, an operator, prune and transactions can meet at one key. It looks for
// a state that breaks one of the promises, and prints the shortest way there
// in words.
//
// The store of the model is package internal/rules, the code that ships: a
// rule that is simplified there is judged here. The model is the judge of the
// wording, too: a rule of the contract that looks superfluous is probably one
// of [Subtle], each of which has a trace that shows what happens without it.
//
// # Promises
//
//	S1  At most one claimer trusts a lease; under at most once, at most one
//	    effect happens in a window and generation, and no key is freed while
//	    one happened or is under way.
//	S2  Only its holder changes a record, only from the state it names; done
//	    stays done, with the first result, until a forget or its expiry; a
//	    mark and what is in doubt stay.
//	S3  No token is given twice, and none falls.
//	S4  A holder in trust keeps its record and can complete.
//	S5  A key is in doubt for ever only if an effect may have started.
//	S6  A late copy of a request makes no holder and ends no doubt; a repeat
//	    that had applied is not told that it lost.
//	S7  Nothing changes under an open transaction; a rollback leaves what
//	    stood before.
//
// S5 is judged in every state in which all have ended or crashed; copies that
// are left over may still arrive.
//
// # Bounds
//
// One key. Two or three claimers with one attempt each, of the roles user,
// recoverer, operator, forgetter and transaction. Claims, updates and answers
// are messages of their own: unordered, lost by never being delivered, at most
// one of them copied by the network. At most one crash, one time-out with a
// repeat for a claimer, and one renewal. A lease lasts 2 ticks, a renewal 3, a
// window 2, the memory of a free key 1, keep 2, the upstream's deadline 1; the
// margin of trust is 0. A message lives without end, but 2 ticks where prune
// runs. The clock makes 1 to 6 ticks; see [Full] for each configuration. A
// tick is a microsecond, so that tokens stay as small as ticks.
//
// Claimers' clocks run as fast as the store's. Their offset cancels out of the
// formula of trust, so trust is kept in the store's ticks. "Twice in a row at
// a distance" (rule 12) is replaced by a deadline that the upstream keeps.
// From a state that breaks a promise the exploration does not go on. Visited
// states are known by 64-bit hashes: a collision may hide a state, with a
// probability below 1e-5 for a configuration.
//
// Not modelled: fingerprints, retention of results, epochs after a restore,
// CompleteTx, batches, quota, the spool, Dead, forgiven attempts, a store
// clock that steps, reads that are stale messages. Attempts and Created are
// erased, as no rule reads them.
//
// # Running
//
//	go test ./internal/model                            # seconds
//	go test -tags soak -v -timeout 1h ./internal/model  # everything, some minutes
//
// The first explores [Small] and breaks each rule of [Subtle] and [Plain]
// where that shows soonest. The second explores [Full], prints its size, and
// the trace of each broken rule.
package model
