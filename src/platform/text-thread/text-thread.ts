import type { Worker } from 'node:worker_threads';
import { startThread } from '../../program-files/index.ts';
import { systemClock } from '../clock.ts';
import { createFairQueue } from '../limits/index.ts';
import { refuse, Refusal, type RefusalText } from '../refusal.ts';

export interface TextThread {
  /**
   * Runs a task on texts of `chars` characters in total: in the caller's turn up to `INLINE_CHARS`, in the thread above
   * that. Refuses when too many tasks of the team wait, and when the task takes too long.
   */
  run<Input, Output>(
    order: {
      teamId: string;
      chars: number;
      task: TextTask<Input, Output>;
      /** Marks internal work that nobody repeats, such as mail in delivery: it waits however long the queue is. */
      isPatient?: boolean;
    },
    input: Input,
  ): Promise<Output>;
  /** Number of tasks that were sent to the thread since the start. */
  readonly handedOver: number;
  close(): Promise<void>;
}

export interface TextThreadOptions {
  /** The module that the thread runs, which calls `serveTextTasks`. */
  module?: string | URL;
  limitMs?: number;
  idleMs?: number;
}

/** Smaller texts take ten milliseconds at most; the transfer to the thread costs more. */
const INLINE_CHARS = 32 * 1024;
/** The largest body takes a second; a busy machine takes several times as long. */
const LIMIT_MS = 60_000;
/** A thread uses some megabytes, so an idle one is stopped. */
const IDLE_MS = 30_000;
/** Enough for the largest body with its parts and its copies. */
const HEAP_MB = 512;
/** Each waiting task holds a body of up to 2 MB. */
const WAITING_OF_TEAM_MAX = 20;
const WAITING_MAX = 200;
const RETRY_AFTER_SECONDS = 5;

interface Job {
  name: string;
  input: unknown;
  done(output: unknown): void;
  fail(error: Error): void;
}

/** Creates one thread for the process: its work blocks no turn of the event loop, and uses at most one core. */
export function createTextThread({
  module = 'src/text-thread.ts',
  limitMs = LIMIT_MS,
  idleMs = IDLE_MS,
}: TextThreadOptions = {}): TextThread {
  const queue = createFairQueue<Job>();
  let thread: Worker | undefined;
  let job: Job | undefined;
  let orders = 0;
  let isClosed = false;
  let stopTimer = (): void => undefined;

  function serve(): void {
    if (job) return;
    job = queue.shift();
    stopTimer();
    if (!job) {
      thread?.unref();
      if (thread) stopTimer = systemClock.timer(idleMs, () => void endThread());
      return;
    }
    thread ??= start();
    thread.ref();
    orders++;
    stopTimer = systemClock.timer(limitMs, () => abandon(tooLong(limitMs)));
    try {
      thread.postMessage({ id: orders, name: job.name, input: job.input } satisfies TextOrder);
    } catch (error) {
      settle((broken) => broken.fail(error as Error));
    }
  }

  function settle(how: (settled: Job) => void): void {
    const settled = job;
    job = undefined;
    if (settled) how(settled);
    serve();
  }

  /** Stops the thread with its current task; the next task starts a new one. */
  function abandon(error: Error): void {
    void endThread();
    settle((broken) => broken.fail(error));
  }

  async function endThread(): Promise<void> {
    const ending = thread;
    thread = undefined;
    stopTimer();
    await ending?.terminate();
  }

  function start(): Worker {
    const made = startThread(module, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    made.on('message', (answer: TextAnswer) => {
      if (made !== thread || answer.id !== orders) return;
      settle((settled) => {
        if ('output' in answer) settled.done(answer.output);
        else settled.fail('fault' in answer ? answer.fault : refuse(answer.refused.name, answer.refused.text));
      });
    });
    made.on('error', (error: NodeJS.ErrnoException) => {
      if (made !== thread) return;
      abandon(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(error) : error);
    });
    made.on('exit', (code) => {
      if (made === thread) abandon(new Error(`the thread for texts ended with ${code}`));
    });
    return made;
  }

  return {
    get handedOver() {
      return orders;
    },
    async run({ teamId, chars, task, isPatient = false }, input) {
      if (chars <= INLINE_CHARS) return task.work(input);
      if (isClosed) throw new Error('the program ends');
      // A team without waiting tasks is never refused because of others.
      const ofTeam = queue.countWaiting(teamId);
      const isFull = ofTeam >= WAITING_OF_TEAM_MAX || (ofTeam > 0 && queue.size >= WAITING_MAX);
      if (isFull && !isPatient) throw tooMany();
      return new Promise((done, fail) => {
        queue.push({ name: task.name, input, done: (output) => done(output as never), fail }, { tenant: teamId });
        serve();
      });
    },
    async close() {
      isClosed = true;
      const over = new Error('the program ends');
      for (let waiting = queue.shift(); waiting; waiting = queue.shift()) waiting.fail(over);
      const ended = endThread();
      settle((broken) => broken.fail(over));
      await ended;
    },
  };
}

const unavailable = (say: string, because?: unknown) =>
  refuse('service_unavailable', { say, because, retryAfterSeconds: RETRY_AFTER_SECONDS });

const tooMany = () =>
  unavailable(
    `Too many large request bodies are waiting, ${WAITING_OF_TEAM_MAX} of your team or ${WAITING_MAX} in total; try again in ${RETRY_AFTER_SECONDS} seconds.`,
  );

const tooLong = (limitMs: number) =>
  unavailable(`The body took longer than ${limitMs / 1000} seconds to read; make it smaller, or try again.`);

const tooMuchMemory = (because: unknown) =>
  unavailable('The body took too much memory to read; make it smaller.', because);

/**
 * A pure function that the thread knows by its name. Input and result are plain data, because they are copied between
 * threads.
 */
export interface TextTask<Input, Output> {
  /** The group that loads the task, and its name there: `broadcasts.previewMail`. */
  readonly name: `${string}.${string}`;
  work(input: Input): Output;
}

export const defineTextTask = <Input, Output>(
  name: TextTask<Input, Output>['name'],
  work: (input: Input) => Output,
): TextTask<Input, Output> => ({ name, work });

interface TextOrder {
  id: number;
  name: string;
  input: unknown;
}

/**
 * The result of a task. A refusal is sent as its fields, because of an instance of our classes a copy between threads
 * keeps only the message.
 */
type TextAnswer =
  | { id: number; output: unknown }
  | { id: number; fault: Error }
  | { id: number; refused: { name: Refusal['errorName']; text: RefusalText } };

/** Loaders of tasks, by group. A group loads on first use, so that a thread loads only what it needs. */
export type TextTaskLoaders = Record<string, () => Promise<readonly TextTask<never, unknown>[]>>;

/** Processes the jobs that the main thread sends, in order, as long as the thread lives. */
export function serveTextTasks(loaders: TextTaskLoaders): void {
  // Only the thread loads this, not every importer of this module.
  const { parentPort } = process.getBuiltinModule('node:worker_threads');
  const answer = (said: TextAnswer): void => parentPort?.postMessage(said);
  parentPort?.on('message', ({ id, name, input }: TextOrder) => {
    void findTask(loaders, name)
      .then((task) => task.work(input as never))
      .then(
        (output) => answer({ id, output }),
        (error: unknown) => answer(describeFault(id, error)),
      );
  });
}

async function findTask(loaders: TextTaskLoaders, name: string): Promise<TextTask<never, unknown>> {
  const group = name.slice(0, name.indexOf('.'));
  const tasks = (await loaders[group]?.()) ?? [];
  const task = tasks.find((one) => one.name === name);
  if (!task) throw new Error(`the text thread has no task ${name}`);
  return task;
}

function describeFault(id: number, error: unknown): TextAnswer {
  if (!(error instanceof Refusal)) return { id, fault: error instanceof Error ? error : new Error(String(error)) };
  const { errorName, message, status, errors, details } = error;
  const text = { say: message, status, ...(errors && { errors }), ...(details && { details }) };
  return { id, refused: { name: errorName, text } };
}
