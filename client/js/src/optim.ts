// SPDX-License-Identifier: Apache-2.0
// Optimizers. Each update rule is one op a parameter, the same in every client; the daemon runs all of a step as one.
import type { Burn } from "./burn.js";
import { invalid } from "./errors.js";
import { Tensor, weak } from "./tensor.js";

const alive = new Map<Burn, Set<WeakRef<Optimizer>>>();
let traces = 0, marks = 0;

/** @internal Runs f while a program is recorded: optimizers have their state before, and steps are counted. */
export function tracing<T>(burn: Burn, f: (endsStep: () => boolean) => T): T {
  for (const ref of alive.get(burn) ?? []) ref.deref()?._complete();
  const before = marks;
  traces++;
  try {
    return f(() => marks > before);
  } finally {
    traces--;
  }
}

interface State {
  tensors: Tensor[];
  /** Steps taken; a tensor once a program has recorded it. */
  step: number | Tensor;
}

/** Base class: a list of parameters, their state, and step(). */
export abstract class Optimizer {
  protected readonly burn: Burn;
  protected readonly states = new Map<Tensor, State>();

  /** @param parameters leaves, all of one connection; those without a gradient stay as they are
   * @param lr the learning rate; may be changed between steps */
  protected constructor(readonly parameters: readonly Tensor[], public lr: number) {
    if (!parameters[0]) throw invalid("an optimizer needs parameters");
    if (!(lr >= 0)) throw invalid(`a learning rate of ${lr}`);
    parameters.forEach((p, i) => {
      if (!p.isLeaf) throw invalid(`parameter ${i} is no leaf: an op with a gradient made it`);
    });
    this.burn = parameters[0].burn;
    const all = alive.get(this.burn) ?? new Set();
    alive.set(this.burn, all.add(new WeakRef(this)));
  }

  /** How many tensors of zeros a parameter's state begins with. */
  protected abstract readonly slots: number;
  /** The new parameter, then its new state. */
  protected abstract update(parameter: Tensor, gradient: Tensor, state: State): Tensor[];

  private stateOf(parameter: Tensor): State {
    let state = this.states.get(parameter);
    if (!state) {
      const zeros = (): Tensor => this.burn._outside(() => this.burn.zeros(parameter.shape, { dtype: parameter.dtype }));
      state = { tensors: Array.from({ length: this.slots }, zeros), step: 0 };
      this.states.set(parameter, state);
    }
    return state;
  }

  /** @internal */
  _complete(): void {
    this.burn.noGrad(() => {
      for (const parameter of this.parameters) {
        const state = this.stateOf(parameter);
        if (typeof state.step === "number") state.step = this.burn.tensor(state.step, { dtype: "float32" });
      }
    });
  }

  /** Updates each parameter that has a gradient, and marks the end of the step. */
  step(): void {
    this.burn.noGrad(() => {
      for (const parameter of this.parameters) {
        this.burn.tidy(() => {
          const gradient = parameter._grad();
          if (!gradient) return;
          const state = this.stateOf(parameter);
          if (typeof state.step === "number") state.step++;
          else state.step.assign(state.step.add(1));
          const [value, ...tensors] = this.update(parameter, gradient, state);
          parameter.assign(value!);
          tensors.forEach((tensor, i) => {
            if (state.tensors[i]) state.tensors[i].assign(tensor);
            else state.tensors[i] = this.burn.keep(tensor);
          });
        });
      }
    });
    marks++;
    if (traces === 0) this.burn._stepEnded();
  }

  /** Forgets the gradients of all parameters. */
  zeroGrad(): void {
    for (const parameter of this.parameters) parameter.grad = null;
  }
}

/** Options of SGD. */
export interface SGDOptions {
  lr?: number;
  momentum?: number;
  dampening?: number;
  weightDecay?: number;
  nesterov?: boolean;
  maximize?: boolean;
}

/** p -= lr * (g + weightDecay * p), with a buffer of momentum if that is not 0. */
export class SGD extends Optimizer {
  protected readonly slots: number;

  constructor(parameters: readonly Tensor[], private readonly options: SGDOptions = {}) {
    super(parameters, options.lr ?? 1e-3);
    if (options.nesterov && (!(options.momentum! > 0) || options.dampening))
      throw invalid("Nesterov momentum requires a momentum and zero dampening");
    this.slots = options.momentum && !options.dampening ? 1 : 0;
  }

  protected update(parameter: Tensor, gradient: Tensor, state: State): Tensor[] {
    const o = this.options, decay = o.weightDecay || null, maximize = o.maximize ? 1 : 0;
    if (!o.momentum) return this.burn._apply("sgd_step", [parameter, gradient, this.lr, decay], [maximize]);
    return this.burn._apply("sgd_momentum_step",
      [parameter, gradient, state.tensors[0], this.lr, o.momentum, o.dampening ?? 0, decay], [o.nesterov ? 1 : 0, maximize]);
  }
}

/** Options of Adam and AdamW. */
export interface AdamOptions {
  lr?: number;
  betas?: readonly [number, number];
  eps?: number;
  weightDecay?: number;
  amsgrad?: boolean;
  maximize?: boolean;
}

/** Adam; weight decay is added to the gradient. */
export class Adam extends Optimizer {
  protected readonly slots: number;
  protected readonly op: string = "adam_step";

  constructor(parameters: readonly Tensor[], protected readonly options: AdamOptions = {}) {
    super(parameters, options.lr ?? 1e-3);
    for (const beta of options.betas ?? [])
      if (!(beta >= 0 && beta < 1)) throw invalid(`betas are from 0 to below 1, not ${beta}`);
    this.slots = options.amsgrad ? 3 : 2;
  }

  protected decay(): number | null {
    return this.options.weightDecay || null;
  }

  protected update(parameter: Tensor, gradient: Tensor, state: State): Tensor[] {
    const o = this.options, [m, v, most] = state.tensors, [beta1, beta2] = o.betas ?? [0.9, 0.999];
    return this.burn._apply(this.op,
      [parameter, gradient, m, v, most, this.lr, beta1, beta2, o.eps ?? 1e-8, this.decay(),
        typeof state.step === "number" ? weak(state.step, false) : state.step], [o.maximize ? 1 : 0]);
  }
}

/** Adam whose weight decay (0.01 at first) shrinks the parameter itself. */
export class AdamW extends Adam {
  protected override readonly op = "adamw_step";

  protected override decay(): number | null {
    return (this.options.weightDecay ?? 0.01) || null;
  }
}
