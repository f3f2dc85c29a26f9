declare module 'postject' {
  /** Puts a resource into an executable file. */
  export function inject(
    file: string,
    resource: string,
    bytes: Buffer,
    options: { sentinelFuse: string },
  ): Promise<void>;
}
