/**
 * What is wrong with a record that a domain's owner was asked to publish: observations in, a verdict and one sentence out,
 * and which further questions would tell one mistake from another. Whatever was found in DNS, it ends soon, never throws,
 * and what it quotes is short and harmless. It asks no server itself.
 */
export { diagnose, furtherQuestions, parents } from './diagnose.ts';
export { judgeAnswer, permitsIssuer } from './judge.ts';
export { countSpfLookups, isSpf } from './spf-rules.ts';
export {
  shown,
  textOf,
  questionKey,
  type Answer,
  type AskedType,
  type FurtherQuestion,
  type Judgement,
  type Observations,
  type ServerObservation,
  type SpfCost,
  type Verdict,
  type Wanted,
  type ZoneObservation,
} from './observations.ts';
