// Package semel answers one question, safely and concurrently, wherever it is
// asked: has this unit of work already been processed?
//
// A claim that works has three properties. A stable identity: the same [Key] on
// every attempt at one intent, another key for another intent. An atomic claim
// on it: one winner among any number of attempts, with no moment between
// testing and acting. And a bounded window over which claims are remembered,
// longer than the longest time after which a duplicate can still arrive.
//
// A [Keeper] gives out claims, and a [Store] keeps them. [Keeper.Do] is the
// whole of it for most uses:
//
//	outcome, err := keeper.Do(ctx, semel.Key{Scope: tenant, ID: orderID}, pay)
//
// # Five words
//
//   - A key names the work: {Scope, ID}, who must not repeat it and what must
//     not be repeated.
//   - A lease is a claim that was won: held for a limited time by one attempt,
//     and renewed while the work runs.
//   - A token orders the holders of a key. It never repeats or falls, so that
//     an effect can refuse the smaller one.
//   - A mark is what a holder writes before an effect that cannot share a
//     transaction with its claim. Its note is what recovery needs to ask the
//     outside world.
//   - In doubt is a marked lease that ended without an outcome: the effect may
//     have happened. Nobody guesses.
//
// # What is guaranteed
//
// It depends on how the claim and the effect are joined, and only on that.
//
//   - Claim and effect in one transaction of the same database (package
//     sqlstore, ClaimTx and CompleteTx): the effect happens once. Nothing can
//     come between the two.
//   - Claim marked before the effect ([ClaimOptions].Note, [Lease.Mark]): at most
//     once. An attempt whose outcome is unknown leaves the key in doubt until a
//     late answer, a [RecoverFunc] or a person settles it. It never runs twice
//     by itself.
//   - Claim not marked: at least once. A lapsed lease is taken over, and the
//     effect may run again after a crash. It must be safe to repeat, or take the
//     token or [Lease.DerivedKey] along.
//
// In all three, a key that is done is not run again within its window.
//
// A key is freed only on proof that nothing happened, on the holder's explicit
// word, or where at least once was chosen. And a claim alone suppresses nothing
// for longer than its lease: only a finished attempt is done.
//
// # States
//
//	  ┌──────── release ────────┐
//	  ▼                         │
//	free ───── claim ────────▶ held ──── mark ───▶ marked ── lapse, doubt ──▶ in doubt
//	  ▲                        │  ▲                   │                        │   │
//	  │                  lapse │  │ claim             │                        │   │
//	  │                        ▼  │                   │                        │   │
//	  │                       lapsed                  │                        │   │
//	  │                         │                     │                        │   │
//	  │                         └─── complete, dead ──┴─── complete, settle ───┘   │
//	  │                                       ▼                                    │
//	  ├──── forget, or the window ends ── done, dead                               │
//	  └──────────────────── settle: it did not happen ─────────────────────────────┘
//
// A store keeps four states: [Free], [Held], [Done], [Dead]. The others are
// derived from the record and the store's clock, so that nobody has to move a
// record there: a lapse needs no sweeper, and a sweeper cannot be late.
//
// # The transition table
//
// Every request in every state: the answer, and after an arrow the state that
// follows if it is another one. Claims answer won, again (the same attempt had
// won before: a repeat after a lost answer) or no. A claim names the version
// that it saw; stale names another one. +note is a claim marked from the start,
// recover one that may take over what is in doubt. "Backing" is free but not
// claimable yet, "forgotten" is free after a forget, "recovered" is held by an
// attempt that took it over from in doubt.
//
//	state      claim     +note       again         stale  recover
//	absent     won→held  won→marked  won→held      no     won→held
//	free       won→held  won→marked  no            no     won→held
//	backing    no        no          no            no     no
//	forgotten  won→held  won→marked  no            no     won→held
//	held       no        no          again         no     no
//	marked     no        no          again         no     no
//	lapsed     won→held  won→marked  again→held    no     won→held
//	in-doubt   no        no          again→marked  no     won→recovered
//	doubted    no        no          no            no     won→recovered
//	recovered  no        no          again         no     no
//	done       no        no          no            no     no
//	dead       no        no          no            no     no
//	expired    won→held  won→marked  no            no     won→held
//
// Updates answer ok or lost. They carry the token of the record, except the
// stranger's, who completes with the token of somebody before. +n adds a note.
// What is repeated after a lost answer succeeds again and changes nothing.
//
//	state      renew      mark       doubt       doubt+n     complete  dead     release  forget        stranger
//	absent     lost       lost       lost        lost        lost      lost     lost     lost          lost
//	free       lost       lost       lost        lost        lost      lost     ok       lost          lost
//	backing    lost       lost       lost        lost        lost      lost     ok       lost          lost
//	forgotten  lost       lost       lost        lost        lost      lost     lost     ok            lost
//	held       ok         ok→marked  lost        ok→doubted  ok→done   ok→dead  ok→free  lost          lost
//	marked     ok         ok         ok→doubted  ok→doubted  ok→done   ok→dead  ok→free  lost          lost
//	lapsed     ok→held    ok→marked  lost        ok→doubted  ok→done   ok→dead  ok→free  lost          lost
//	in-doubt   ok→marked  ok→marked  ok→doubted  ok→doubted  ok→done   ok→dead  ok→free  lost          lost
//	doubted    lost       lost       ok          ok          ok→done   ok→dead  ok→free  lost          lost
//	recovered  ok         ok         ok→doubted  ok→doubted  ok→done   ok→dead  ok→free  lost          lost
//	done       lost       lost       lost        lost        ok        lost     lost     ok→forgotten  lost
//	dead       lost       lost       lost        lost        lost      ok       lost     ok→forgotten  lost
//	expired    lost       lost       lost        lost        ok        lost     lost     ok→forgotten  lost
//
// # Who may do what
//
//   - Anybody may claim, and read.
//   - The holder of the current token, and nobody else, may renew, mark,
//     complete, kill, release or doubt. A late holder may do so as long as nobody
//     has taken the key; once somebody has, it gets [ErrLost], and its outcome is
//     reported to the [Observer], never dropped without a word.
//   - Settling a doubt is a takeover: it gets a token of its own, so that a late
//     answer of the old holder cannot overwrite it.
//   - Forgetting a finished key is for people ([Keeper.Forget]); no lease does
//     it.
//   - Only the Keeper calls [Store].Claim and [Store].Update.
//
// # Trust
//
// Only the store's clock counts: requests carry durations, never instants, and
// each answer carries the store's time. A holder trusts its lease until
//
//	trust = sent + (Until - Now) - margin,   margin = min(lease/10, 5 s)
//
// where sent is the local time at which the request that was answered was sent,
// and Until and Now come from its answer. The lease began at the store no
// earlier than that, so that trust ends before the lease, however long the
// answer took and however far apart the clocks are. It ends when the monotonic
// or the wall clock says so, whichever is first: the monotonic one stands still
// while a machine sleeps. A renewal never shortens it.
//
// [Lease.Start] is to be called directly before each effect, marked or not. What
// can still happen between its answer and the effect, only the token at the
// effect closes:
//
//	UPDATE account SET ..., fence = $token WHERE id = $1 AND fence < $token
//
// # What happens at each crash point
//
//   - Before the claim reaches the store: nothing is known, the next attempt
//     wins.
//   - After the claim, before its answer: the claimer repeats the claim under the
//     same attempt id and gets its own lease again. If it is gone, the lease
//     lapses: unmarked it is taken over, marked it is in doubt.
//   - After the answer, when the caller has left: the Keeper gives the key back.
//   - After the claim, before the mark: the lease lapses and is taken over; there
//     was no effect.
//   - After the mark, before the effect: in doubt. Recovery finds that nothing
//     happened, and frees the key when that is proven.
//   - During or after the effect, before the outcome is stored: marked, in doubt;
//     recovery finds the effect and its result. Unmarked, the effect runs again.
//   - The outcome is stored, its answer lost: repeated, the first one stands.
//   - The store is away when the work is done: the result is returned with
//     [ErrUnrecorded], after trying for as long as the lease lasts.
//   - The store is away while the work runs: renewals are retried. When trust
//     ends, unmarked work is cancelled, since another may take the key; marked
//     work goes on, since nobody can.
//   - The holder stalls beyond its lease and wakes: it is not trusted any more;
//     if somebody has taken the key, everything it tries is [ErrLost].
//   - A claim gets no answer at all: the caller gets the error, and the claim is
//     undone behind its back ([Keeper.Drain] waits for that).
//   - During a takeover that settles a doubt: the record is in doubt again when
//     that lease lapses.
//   - In a transaction of the caller's: rollback leaves exactly what stood
//     before.
//
// # What is not protected
//
//   - Two keys for one intent, or one key for two. A [ClaimOptions].Fingerprint
//     finds the second, nothing here finds the first.
//   - A duplicate that comes after the window ([Observer].WindowMissed counts
//     those that come soon after it).
//   - An effect that a stalled holder sends after its lease was taken over, unless
//     the effect compares tokens.
//   - A store that loses what it acknowledged, or whose clock falls by more than
//     [Options].Keep.
//   - An outside system that says "it did not happen" and then lets it happen,
//     later than [Options].EffectDeadline.
package semel
