/**
 * What is wrong with a record that a domain's owner was asked to publish: observations in, a verdict and one sentence out,
 * and which further questions would tell one mistake from another. Whatever was found in DNS, it ends soon, never throws,
 * and what it quotes is short and harmless. It asks no server itself.
 */
export { diagnose } from './diagnose.ts';
export { judgeAnswer } from './judge.ts';
export { furtherQuestions, parents } from './further-questions.ts';
export { permitsIssuer } from './caa-rules.ts';
export { countSpfLookups, isSpf } from './spf-cost.ts';
export { shown, textOf } from './shown.ts';
export { questionKey } from './observations.ts';
export type {
  Answer,
  AskedType,
  FurtherQuestion,
  Judgement,
  Observations,
  ServerObservation,
  SpfCost,
  Verdict,
  Wanted,
  ZoneObservation,
} from './observations.ts';
