import { refuse, type Refusal } from '../../../platform/refusal/index.ts';

/** Of a message that a client composed; `fault` is a sentence, whether or not it ends as one. */
export const unreadable = (fault: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The message cannot be sent: ${fault.replace(/\.$/, '')}.` });
