import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import type { BroadcastRow, BroadcastStatus } from './broadcasts.store.ts';

const IN_WORDS: Record<BroadcastStatus, string> = {
  draft: 'a draft',
  scheduled: 'scheduled',
  queued: 'queued',
  sending: 'being sent',
  sent: 'sent',
  canceled: 'canceled',
  failed: 'one that failed',
};

/** The refusal of a change that another status asks for. */
export const inOtherStatus = ({ status }: Pick<BroadcastRow, 'status'>, rule: string, code: 400 | 403): Refusal =>
  refuse('validation_error', { status: code, say: `This broadcast is ${IN_WORDS[status]}; ${rule}.` });
