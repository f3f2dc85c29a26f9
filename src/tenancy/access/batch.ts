import { nextTurn } from '../../platform/clock.ts';
import { refuse, Refusal, type FieldFault } from '../../platform/refusal.ts';

/** Operations whose body is a list, each with the operation that takes one item of it. */
export const BATCHES = {
  sendBatch: 'sendEmail',
  createContactBatch: 'createContact',
  sendEventBatch: 'sendEvent',
} as const;

type BatchId = keyof typeof BATCHES;
/** Operations whose body can be checked while an operation runs. */
export type CheckedId = BatchId | (typeof BATCHES)[BatchId];

/** Reports whether an operation checks its own body, because a permissive batch takes its valid items. */
export const isBatch = (operationId: string): operationId is BatchId => Object.hasOwn(BATCHES, operationId);

export interface BodyCheck {
  /** Checks a body against the contract of an operation, and throws the refusal. */
  checkBody(id: CheckedId, body: unknown): void;
}

/** An item of a batch that is not accepted. */
export interface RefusedItem {
  index: number;
  refusal: Refusal;
}

/** Few enough that checking them does not delay other requests. */
const ITEMS_A_TURN = 200;

/**
 * Checks the body of a batch. A strict one is refused as a whole. Of a permissive one, items that break the contract are
 * left out and returned with their refusals; only a body that is no list of the right length is refused.
 */
export async function readBatch<Item>(
  { checkBody }: BodyCheck,
  id: BatchId,
  { body, max, isPermissive }: { body: readonly Item[]; max: number; isPermissive: boolean },
): Promise<{ inputs: (Item | undefined)[]; refused: RefusedItem[] }> {
  const isList = Array.isArray(body) && body.length > 0 && body.length <= max;
  if (!isPermissive || !isList) {
    checkBody(id, body);
    return { inputs: [...body], refused: [] };
  }
  const inputs: (Item | undefined)[] = [];
  const refused: RefusedItem[] = [];
  for (const [index, input] of body.entries()) {
    if (index > 0 && index % ITEMS_A_TURN === 0) await nextTurn();
    const refusal = findRefusal(() => checkBody(BATCHES[id], input));
    inputs.push(refusal ? undefined : input);
    if (refusal) refused.push({ index, refusal });
  }
  return { inputs, refused };
}

/** Returns the refusal that `work` throws; undefined if it throws none. */
export function findRefusal(work: () => unknown): Refusal | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** Prefixes a fault with the index of its item. Most messages begin with the field, whose full path is named then. */
const faultAtIndex = ({ path, message }: FieldFault, index: number): FieldFault => ({
  path: `${index}.${path}`,
  message: message.startsWith(path) ? `${index}.${message}` : message,
});

/** Returns the refusal of an item with its index in the batch; `noun` is what the batch contains. */
export function refuseAtIndex(noun: string, { index, refusal }: RefusedItem): Refusal {
  const { errors, details } = refusal;
  return refuse(refusal.errorName, {
    status: refusal.status,
    say: `${noun} ${index}: ${refusal.message}`,
    ...(errors ? { errors: errors.map((fault) => faultAtIndex(fault, index)) } : {}),
    ...(details ? { details } : {}),
  });
}

const FAULTS_MAX = 100;

/** Returns the refusal of a strict batch: that of its first refused item, with the faults of the others. */
export function refuseBatch(noun: string, refused: readonly [RefusedItem, ...RefusedItem[]]): Refusal {
  const [first, ...others] = refused;
  const { errorName, status, message, details } = refuseAtIndex(noun, first);
  const errors = refused
    .flatMap(({ index, refusal }) =>
      refusal.errors
        ? refusal.errors.map((fault) => faultAtIndex(fault, index))
        : [{ path: String(index), message: `${noun} ${index}: ${refusal.message}` }],
    )
    .slice(0, FAULTS_MAX);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return refuse(errorName, { status, say: `${message}${more}`, errors, ...(details ? { details } : {}) });
}

/** Returns the entry for a refused item in the response of a permissive batch. */
export const toBatchError = ({ index, refusal }: RefusedItem) => ({
  index,
  field: refusal.errors?.[0]?.path ?? null,
  message: refusal.message,
});
