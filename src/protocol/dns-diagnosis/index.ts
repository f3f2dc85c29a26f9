/**
 * Explains what is wrong with a record that a domain's owner was asked to publish: it takes observations and returns a
 * verdict, one sentence, and the further queries that would distinguish one mistake from another. Whatever was found in
 * DNS, it ends soon, never throws, and quotes only short and harmless text. It sends no queries itself.
 */
export { diagnose, furtherQuestions, parents } from './diagnose.ts';
export { readBimi, type BimiRecord } from './bimi.ts';
export { compareAnswer, parseMx, permitsIssuer } from './compare-records.ts';
export { findTag, isDmarc } from './policy-rules.ts';
export { countSpfLookups, isSpf } from './spf-rules.ts';
export {
  shown,
  decodeText,
  questionKey,
  type Answer,
  type AskedType,
  type FurtherQuestion,
  type Comparison,
  type Observations,
  type ServerObservation,
  type SpfCost,
  type Verdict,
  type Wanted,
  type ZoneObservation,
} from './observations.ts';
