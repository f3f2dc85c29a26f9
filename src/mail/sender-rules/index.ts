/**
 * The rules that mailbox providers publish for senders, some of which hold only for those with much mail: the table of the rules,
 * the facts that a domain is judged by, and what the last check found. `mail/domain-dns` looks up what DNS says of a domain.
 */
export { isNear, judgeProvider } from './judge-rules.ts';
export { notKnown, readFacts, type AuthFacts, type Fact, type Facts } from './read-facts.ts';
export { PROVIDER_RULES } from './rule-table.ts';
export { listUnmetRules, loadUnmetRules, replaceUnmetRules, type UnmetRules } from './sender-rules.store.ts';
