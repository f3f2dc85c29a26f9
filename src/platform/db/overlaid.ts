/** `held` with some of its methods replaced by `own`; the other methods run on `held` itself. */
export const overlaid = <Held extends object>(held: Held, own: Partial<Held>): Held =>
  new Proxy(held, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === 'function' && !(name in own) ? value.bind(target) : value;
    },
  });
