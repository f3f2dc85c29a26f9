import type { Answer, Judgement, SpfCost, Wanted } from '../../../protocol/dns-diagnosis/index.ts';
import type { RecordCheck } from '../../domains/index.ts';

/** A record, and what the configured resolver says of it. */
export interface JudgedRecord {
  wanted: Wanted;
  answer: Answer;
  judgement: Judgement;
  spf?: SpfCost;
}

export type Explained = Pick<RecordCheck, 'diagnosis' | 'found'>;
