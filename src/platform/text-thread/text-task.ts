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
