# SPDX-License-Identifier: Apache-2.0
"""burn.distributions: the values are those of PyTorch 2.13 in float64; samples are judged by their moments."""
import math

import burn
import burn.distributions as D
import numpy as np
import pytest

nan, inf = math.nan, math.inf


def t(values):
    return burn.tensor(values, dtype=burn.float64)


ROWS = [
    ("D.Normal(t([0.5, -1.0]), t([1.0, 2.0]))", [0.3, 2.0],
     {"log_prob": [-0.9389385332, -2.7370857138], "entropy": [1.4189385332, 2.1120857138], "mean": [0.5, -1.0],
      "variance": [1.0, 4.0]}),
    ("D.Normal(0.5, 2.0)", 0.3,
     {"log_prob": -1.6170857138, "entropy": 2.1120857138, "mean": 0.5, "variance": 4.0}),
    ("D.HalfNormal(t([1.0, 2.0]))", [0.3, 2.0],
     {"log_prob": [-0.27079135264, -1.4189385332], "entropy": [0.72579135264, 1.4189385332],
      "mean": [0.7978845608, 1.5957691216], "variance": [0.36338022763, 1.4535209105]}),
    ("D.LogNormal(t([0.5, -1.0]), t([1.0, 2.0]))", [0.3, 2.0],
     {"log_prob": [-1.1667273878, -2.6635763162], "entropy": [1.9189385332, 1.1120857138],
      "mean": [2.7182818285, 2.7182818285], "variance": [12.696480824, 396.03973739]}),
    ("D.Laplace(t([0.5, -1.0]), t([1.0, 2.0]))", [0.3, 0.9],
     {"log_prob": [-0.89314718056, -2.3362943611], "entropy": [1.6931471806, 2.3862943611], "mean": [0.5, -1.0],
      "variance": [2.0, 8.0]}),
    ("D.Uniform(t([0.0, -1.0]), t([1.0, 2.0]))", [0.3, 0.9],
     {"log_prob": [0.0, -1.0986122887], "entropy": [0.0, 1.0986122887], "mean": [0.5, 0.5],
      "variance": [0.083333333333, 0.75]}),
    ("D.Exponential(t([0.5, 1.0]))", [0.3, 2.0],
     {"log_prob": [-0.84314718056, -2.0], "entropy": [1.6931471806, 1.0], "mean": [2.0, 1.0],
      "variance": [4.0, 1.0]}),
    ("D.Gamma(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 2.0],
     {"log_prob": [-0.27037854076, -1.2274112778], "entropy": [0.090609929914, 1.1544313298], "mean": [0.5, 1.5],
      "variance": [0.5, 0.75]}),
    ("D.Chi2(t([0.5, 3.0]))", [0.3, 2.0],
     {"log_prob": [-0.70832971659, -1.5723649429], "entropy": [-0.93942044477, 2.0541199559], "mean": [0.5, 3.0],
      "variance": [1.0, 6.0]}),
    ("D.InverseGamma(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 2.0],
     {"log_prob": [-2.0997390698, -2.3862943611], "entropy": [4.017629982, 0.69515702073], "mean": [inf, 1.0],
      "variance": [inf, 1.0]}),
    ("D.Beta(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 0.2],
     {"log_prob": [-0.091160778397, -0.95711272639], "entropy": [-0.30685281944, -0.23490664979],
      "mean": [0.33333333333, 0.6], "variance": [0.088888888889, 0.04]}),
    ("D.Dirichlet(t([[0.5, 3.0, 1.0], [1.0, 2.0, 3.0]]))", [[0.3, 0.2, 0.5], [0.1, 0.2, 0.7]],
     {"log_prob": [-1.4286649753, 1.7715567619], "entropy": [-1.932241741, -1.2443445622],
      "mean": [[0.11111111111, 0.66666666667, 0.22222222222], [0.16666666667, 0.33333333333, 0.5]],
      "variance": [[0.017957351291, 0.040404040404, 0.031425364759], [0.019841269841, 0.031746031746, 0.035714285714]]}),
    ("D.StudentT(t([0.5, 3.0]), t([1.0, 2.0]), 2.0)", [0.3, 0.2],
     {"log_prob": [-2.1680317539, -2.1720698311], "entropy": [4.3598745967, 2.4666247524], "mean": [nan, 2.0],
      "variance": [nan, 12.0]}),
    ("D.Cauchy(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 0.2],
     {"log_prob": [-1.183950599, -2.9230663347], "entropy": [2.531024247, 3.2241714275], "mean": [nan, nan],
      "variance": [inf, inf]}),
    ("D.HalfCauchy(t([0.5, 3.0]))", [0.3, 0.2],
     {"log_prob": [-0.065920224477, -1.554629591], "entropy": [1.1447298858, 2.9364893551], "mean": [inf, inf],
      "variance": [inf, inf]}),
    ("D.Gumbel(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 0.2],
     {"log_prob": [-1.0214027582, -3.3483471474], "entropy": [1.5772156649, 2.2703628455],
      "mean": [1.0772156649, 4.1544313298], "variance": [1.6449340668, 6.5797362674]}),
    ("D.Weibull(t([0.5, 3.0]), t([1.0, 2.0]))", [0.3, 0.2],
     {"log_prob": [0.09314718056, -3.1179597537], "entropy": [0.30685281944, 1.6940729406],
      "mean": [0.5, 2.6586807764], "variance": [0.25, 1.9314165294]}),
    ("D.Pareto(t([0.5, 3.0]), t([1.0, 2.0]))", [0.7, 4.2],
     {"log_prob": [0.020202707318, -1.414881818], "entropy": [1.3068528194, 1.9054651081], "mean": [inf, 6.0],
      "variance": [inf, inf]}),
    ("D.Bernoulli(t([0.5, 0.3]))", [0.0, 1.0],
     {"log_prob": [-0.69314718056, -1.2039728043], "entropy": [0.69314718056, 0.61086430205], "mean": [0.5, 0.3],
      "variance": [0.25, 0.21]}),
    ("D.Bernoulli(logits=t([0.5, -0.3]))", [0.0, 1.0],
     {"log_prob": [-0.97407698418, -0.85435524447], "entropy": [0.66284731858, 0.68202248943],
      "mean": [0.6224593312, 0.42555748319], "variance": [0.2350037122, 0.24445831169]}),
    ("D.Geometric(t([0.5, 0.3]))", [0.0, 3.0],
     {"log_prob": [-0.69314718056, -2.2739976361], "entropy": [1.3862943611, 2.0362143402],
      "mean": [1.0, 2.3333333333], "variance": [2.0, 7.7777777778]}),
    ("D.Geometric(logits=t([0.5, 0.3]))", [0.0, 3.0],
     {"log_prob": [-0.47407698418, -3.1174209779], "entropy": [1.06488454, 1.1872771765],
      "mean": [0.60653065971, 0.74081822068], "variance": [0.97441010088, 1.2896298568]}),
    ("D.Categorical(t([[0.5, 0.3, 0.2], [1.0, 2.0, 0.0]]))", [0.0, 1.0],
     {"log_prob": [-0.69314718056, -0.40546510811], "entropy": [1.0296530141, 0.63651416829], "mean": [nan, nan],
      "variance": [nan, nan]}),
    ("D.Categorical(logits=t([[0.5, 0.3, 0.2], [1.0, 2.0, -3.0]]))", [0.0, 1.0],
     {"log_prob": [-0.93983106084, -0.31817542925], "entropy": [1.0906356052, 0.61030702865], "mean": [nan, nan],
      "variance": [nan, nan]}),
    ("D.OneHotCategorical(t([[0.5, 0.3, 0.2], [1.0, 2.0, 1.0]]))", [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
     {"log_prob": [-1.2039728043, -1.3862943611], "entropy": [1.0296530141, 1.0397207708],
      "mean": [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]], "variance": [[0.25, 0.21, 0.16], [0.1875, 0.25, 0.1875]]}),
    ("D.Binomial(5, t([0.5, 0.3]))", [0.0, 3.0],
     {"log_prob": [-3.4657359028, -2.0226832079], "entropy": [1.523670872, 1.4136148553], "mean": [2.5, 1.5],
      "variance": [1.25, 1.05]}),
    ("D.Binomial(5, logits=t([0.5, 0.3]))", [0.0, 3.0],
     {"log_prob": [-4.8703849209, -1.0691911293], "entropy": [1.4847346327, 1.5095852167],
      "mean": [3.112296656, 2.8722125841], "variance": [1.175018561, 1.2222915585]}),
    ("D.NegativeBinomial(5, t([0.5, 0.3]))", [0.0, 3.0],
     {"log_prob": [-3.4657359028, -1.8399450712], "mean": [5.0, 2.1428571429], "variance": [10.0, 3.0612244898]}),
    ("D.Multinomial(5, t([[0.5, 0.3, 0.2], [1.0, 2.0, 0.5]]))", [[1.0, 2.0, 2.0], [4.0, 1.0, 0.0]],
     {"log_prob": [-2.9187712324, -3.9612297495], "entropy": [2.5918085963, 2.4386238936],
      "mean": [[2.5, 1.5, 1.0], [1.4285714286, 2.8571428571, 0.71428571429]],
      "variance": [[1.25, 1.05, 0.8], [1.0204081633, 1.2244897959, 0.61224489796]]}),
    ("D.Poisson(t([0.5, 3.0]))", [0.0, 3.0],
     {"log_prob": [-0.5, -1.4959226032], "mean": [0.5, 3.0], "variance": [0.5, 3.0]}),
    ("D.Independent(D.Normal(t([[0.5, 3.0]]), t([[1.0, 2.0]])), 1)", [[0.0, 3.0]],
     {"log_prob": [-2.656024247], "entropy": [3.531024247], "mean": [[0.5, 3.0]], "variance": [[1.0, 4.0]]}),
    ("D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Normal(t([0.5, 3.0]), t([1.0, 2.0])))", 1.5,
     {"log_prob": -1.7787497571, "mean": 2.5, "variance": 4.4}),
    ("D.MixtureSameFamily(D.Categorical(t([[0.2, 0.8]])), D.Independent(D.Normal(t([[[0.5, 3.0], [1.0, "
     "1.0]]]), t([[[1.0, 2.0], [1.0, 3.0]]])), 1))", [[1.5, 2.0]],
     {"log_prob": [-3.1247201737], "mean": [[0.9, 1.4]], "variance": [[1.04, 8.64]]}),
    ("D.MultivariateNormal(t([0.5, 3.0]), t([[2.0, 0.5], [0.5, 1.0]]))", [[0.3, 0.2], [1.0, 2.0], [0.0, 0.0]],
     {"log_prob": [-6.4491135318, -2.9033992461, -6.9033992461], "entropy": 3.1176849604, "mean": [0.5, 3.0],
      "variance": [2, 1.0]}),
    ("D.MultivariateNormal(t([0.5, 3.0]), precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))", [0.3, 0.2],
     {"log_prob": -5.7980691724, "entropy": 2.5580691724, "mean": [0.5, 3.0],
      "variance": [0.57142857143, 1.1428571429]}),
    ("D.MultivariateNormal(t([[0.5, 3.0], [1.0, 2.0]]), scale_tril=t([[2.0, 0.0], [0.5, 1.0]]))",
     [[0.3, 0.2], [0.0, 0.0]],
     {"log_prob": [-6.317274247, -4.187274247], "entropy": [3.531024247, 3.531024247],
      "mean": [[0.5, 3.0], [1.0, 2.0]], "variance": [[4.0, 1.25], [4.0, 1.25]]}),
    ("D.RelaxedBernoulli(t(0.7), t([0.3, 0.6]))", [0.2, 0.4],
     {"log_prob": [0.085825642152, -0.43235379258]}),
    ("D.RelaxedOneHotCategorical(t(0.7), t([0.3, 0.6, 0.1]))", [0.2, 0.4, 0.4],
     {"log_prob": -0.62553925813}),
    ("D.LogisticNormal(t([0.3, 0.6]), t([1.0, 2.0]))", [0.2, 0.4, 0.4],
     {"log_prob": 0.37282446809}),
    ("D.TransformedDistribution(D.Normal(t([0.5, -1.0]), t([1.0, 2.0])), "
     "[D.transforms.TanhTransform(cache_size=1)])", [0.2, -0.4],
     {"log_prob": [-0.92230050589, -1.4792548961]}),
    ("D.TransformedDistribution(D.Normal(t([0.5, -1.0]), t([1.0, 2.0])), [D.AffineTransform(1.0, -2.0), "
     "D.SigmoidTransform()])", [0.2, 0.4],
     {"log_prob": [-0.019730756975, -1.2405288075]}),
    ("D.TransformedDistribution(D.Independent(D.Normal(t([0.5, -1.0]), t([1.0, 2.0])), 1), "
     "[D.IndependentTransform(D.ExpTransform(), 1), D.AffineTransform(t([1.0, 2.0]), t([3.0, 4.0]), "
     "event_dim=1)])", [2.2, 3.4],
     {"log_prob": -4.0530680395}),
    ("D.TransformedDistribution(D.Normal(t([0.5, -1.0]), t([1.0, 2.0])), [D.SoftplusTransform(), "
     "D.PowerTransform(2.0)])", [2.2, 3.4],
     {"log_prob": [-2.0124245824, -3.6371570572]}),
    ("D.TransformedDistribution(D.Normal(t([[0.5, -1.0]]), t([1.0, 2.0])), [D.ReshapeTransform((1, 2), "
     "(2, 1))])", [[2.2], [3.4]],
     {"log_prob": -6.396024247}),
    ("D.ContinuousBernoulli(t([0.3, 0.5, 0.9]))", [0.3, 0.2, 0.1],
     {"log_prob": [0.13972344883, 0.0, -1.0725240758], "entropy": [-0.029386202232, 0.0, -0.179631116],
      "mean": [0.43022250114, 0.5, 0.66988038669], "variance": [0.080425152206, 0.083333333333, 0.066508862423]}),
    ("D.ContinuousBernoulli(logits=t([0.3, 0.5]))", [0.3, 0.2],
     {"log_prob": [-0.063747191511, -0.16039505099], "entropy": [-0.0037415825419, -0.010351990276],
      "mean": [0.52496258018, 0.54149408254], "variance": [0.082959668413, 0.082301910967]}),
    ("D.Kumaraswamy(t([0.5, 3.0]), t([1.5, 2.0]))", [0.3, 0.2],
     {"log_prob": [-0.082425408602, -1.4351485273], "entropy": [-0.65935689976, -0.29175946923],
      "mean": [0.22857142857, 0.64285714286], "variance": [0.058577612863, 0.036734693878]}),
    ("D.FisherSnedecor(t([3.0, 30.0]), t([6.0, 20.0]))", [0.3, 0.2],
     {"log_prob": [-0.38926428577, -6.2175800289], "mean": [1.5, 1.1111111111], "variance": [5.25, 0.24691358025]}),
    ("D.LowRankMultivariateNormal(t([0.5, 3.0, 1.0]), t([[1.0, 2.0], [0.5, 0.0], [0.3, 0.1]]), t([1.0, "
     "2.0, 0.5]))", [0.3, 0.2, 1.0],
     {"log_prob": -5.5312134856, "entropy": 5.2526327964, "mean": [0.5, 3.0, 1.0], "variance": [6.0, 2.25, 0.6]}),
]
DIVERGENCES = [
    ("D.Normal(0.5, 2.0)", "D.Normal(1.0, 3.0)", 0.14157621922),
    ("D.Bernoulli(0.3)", "D.Bernoulli(logits=0.4)", 0.18215095035),
    ("D.Categorical(t([0.2, 0.3, 0.5]))", "D.Categorical(t([0.5, 0.25, 0.25]))", 0.21801191094),
    ("D.Categorical(t([0.5, 0.5]))", "D.Categorical(t([1.0, 0.0]))", inf),
    ("D.Gamma(2.0, 3.0)", "D.Gamma(1.5, 0.5)", 1.1115824671),
    ("D.Beta(2.0, 3.0)", "D.Beta(1.5, 0.5)", 0.93648935508),
    ("D.Dirichlet(t([1.0, 2.0, 3.0]))", "D.Dirichlet(t([2.0, 2.0, 0.5]))", 2.5379729343),
    ("D.Laplace(0.0, 1.0)", "D.Laplace(1.0, 2.0)", 0.37708690115),
    ("D.Poisson(2.0)", "D.Poisson(3.0)", 0.18906978378),
    ("D.Geometric(0.3)", "D.Geometric(0.4)", 0.072002847145),
    ("D.Exponential(2.0)", "D.Exponential(3.0)", 0.094534891892),
    ("D.Uniform(0.0, 1.0)", "D.Uniform(-1.0, 3.0)", 1.3862943611),
    ("D.Uniform(0.0, 4.0)", "D.Uniform(-1.0, 3.0)", inf),
    ("D.Gumbel(0.0, 1.0)", "D.Gumbel(1.0, 2.0)", 0.36568053077),
    ("D.Cauchy(0.0, 1.0)", "D.Cauchy(1.0, 2.0)", 0.22314355131),
    ("D.Pareto(2.0, 1.0)", "D.Pareto(1.0, 3.0)", 2.980829253),
    ("D.LogNormal(0.0, 1.0)", "D.LogNormal(1.0, 2.0)", 0.44314718056),
    ("D.MultivariateNormal(t([0.5, 3.0]), t([[2.0, 0.5], [0.5, 1.0]]))",
     "D.MultivariateNormal(t([0.0, 2.0]), scale_tril=t([[1.0, 0.0], [0.5, 2.0]]))", 0.73365178659),
    ("D.Independent(D.Normal(t([0.5, 1.0]), 2.0), 1)",
     "D.Independent(D.Normal(t([0.0, 1.0]), 1.0), 1)", 1.7387056389),
    ("D.Uniform(0.0, 1.0)", "D.Normal(1.0, 3.0)", 2.0360693404),
    ("D.Normal(0.5, 2.0)", "D.Laplace(1.0, 2.0)", 0.096898043802),
    ("D.Exponential(2.0)", "D.Gamma(1.5, 0.5)", 1.4972671365),
    ("D.Gamma(2.0, 3.0)", "D.Exponential(3.0)", 0.4227843351),
    ("D.Beta(2.0, 3.0)", "D.Uniform(-1.0, 3.0)", 1.6212010109),
    ("D.Uniform(0.0, 1.0)", "D.Exponential(3.0)", 0.40138771133),
    ("D.Binomial(5, 0.3)", "D.Binomial(5, 0.4)", 0.10800427072),
]


def made(expression):
    try:
        burn.set_default_dtype(burn.float64)
        return eval(expression)
    finally:
        burn.set_default_dtype(burn.float32)


@pytest.mark.parametrize("expression, value, facts", ROWS, ids=[row[0][2:40] for row in ROWS])
def test_values(expression, value, facts):
    d = made(expression)
    for name, wanted in facts.items():
        found = d.log_prob(t(value)) if name == "log_prob" else d.entropy() if name == "entropy" else getattr(d, name)
        assert found.dtype is burn.float64
        np.testing.assert_allclose(found.numpy(), wanted, 1e-9, 1e-9, err_msg=name)
    wide = d.expand((3, *d.batch_shape))
    assert wide.batch_shape == (3, *d.batch_shape) and wide.event_shape == d.event_shape
    found = wide.log_prob(t(value))
    assert found.shape == np.broadcast_shapes((3, *d.batch_shape), np.shape(facts["log_prob"]))
    np.testing.assert_allclose(found.numpy(), np.broadcast_to(facts["log_prob"], found.shape), 1e-9, 1e-9)
    drawn = d.sample((2, 5))
    assert drawn.shape == (2, 5, *d.batch_shape, *d.event_shape) and not drawn.requires_grad
    assert d.log_prob(drawn).isfinite().all()


WITH_MOMENTS = [row for row in ROWS
                if np.isfinite(row[2].get("mean", nan)).all() and np.isfinite(row[2].get("variance", nan)).all()]


@pytest.mark.parametrize("expression, value, facts", WITH_MOMENTS, ids=[row[0][2:40] for row in WITH_MOMENTS])
def test_samples_have_the_moments(expression, value, facts):
    drawn = made(expression).sample((20000,)).numpy()
    mean, variance = np.array(facts["mean"]), np.array(facts["variance"])
    assert (np.abs(drawn.mean(0) - mean) < 5 * np.sqrt(variance / 20000) + 1e-12).all()
    if "LogNormal" not in expression and "Fisher" not in expression:  # their fourth moments are too large
        np.testing.assert_allclose(drawn.var(0), variance, 0.12)


@pytest.mark.parametrize("p, q, wanted", DIVERGENCES, ids=[f"{p[2:12]}-{q[2:12]}" for p, q, _ in DIVERGENCES])
def test_divergences(p, q, wanted):
    found = D.kl_divergence(made(p), made(q))
    assert found.shape == ()
    np.testing.assert_allclose(found.item(), wanted, 1e-8)


def test_divergences_of_others_can_be_registered():
    class Mine(D.Normal):
        pass
    one, two = Mine(0.0, 1.0), Mine(1.0, 1.0)
    assert abs(D.kl_divergence(one, two).item() - 0.5) < 1e-6  # Normal's

    @D.register_kl(Mine, D.Normal)
    def rule(p, q):
        return burn.tensor(7.0)
    assert D.kl_divergence(one, two).item() == 7 and D.kl_divergence(D.Normal(0.0, 1.0), two).item() == 0.5
    with pytest.raises(NotImplementedError, match="p type Normal and q type Poisson"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(TypeError):
        D.register_kl(int, D.Normal)


@pytest.mark.parametrize("made, text", [
    (lambda: D.Normal(0.0, -1.0), r"Expected parameter scale \(Tensor of shape \(\)\).*GreaterThan\(lower_bound=0.0\)"),
    (lambda: D.Normal(burn.tensor([0.0, nan]), 1.0), r"Expected parameter loc .*Real\(\)"),
    (lambda: D.Bernoulli(2.0), "Expected parameter probs"),
    (lambda: D.Bernoulli(0.5, 0.5), "Either `probs` or `logits` must be specified, but not both"),
    (lambda: D.Categorical(), "Either `probs` or `logits`"),
    (lambda: D.Categorical(burn.tensor([-1.0, 2.0])), r"Expected parameter probs.*Simplex\(\)"),
    (lambda: D.Categorical(burn.tensor(1.0)), "at least one-dimensional"),
    (lambda: D.Uniform(1.0, 0.0), "not defined"),
    (lambda: D.MultivariateNormal(burn.zeros(2), burn.tensor([[1.0, 2.0], [2.0, 1.0]])), r"PositiveDefinite\(\)"),
    (lambda: D.MultivariateNormal(burn.zeros(2)), "Exactly one of"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims"),
    (lambda: D.Normal("a", 1.0), "numbers.Number"),
    (lambda: D.Exponential(1.0).log_prob(burn.tensor(-1.0)), "within the support"),
    (lambda: D.Categorical(burn.ones(3)).log_prob(burn.tensor(3)), r"IntegerInterval\(lower_bound=0, upper_bound=2\)"),
    (lambda: D.Normal(burn.zeros(3), 1.0).log_prob(burn.zeros(2)), "not broadcastable"),
    (lambda: D.Dirichlet(burn.ones(3)).log_prob(burn.ones(2) / 2), "right-most size"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor"),
])
def test_wrong_arguments(made, text):
    with pytest.raises(ValueError, match="(?s)" + text):
        made()


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    D.Exponential(1.0, validate_args=False).log_prob(burn.tensor(-1.0))
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)

    @burn.jit
    def density(loc, x):
        return D.Normal(loc, 1.0).log_prob(x)
    assert abs(density(burn.zeros(2), burn.zeros(2)).sum().item() + math.log(2 * math.pi)) < 1e-6


def test_gradients_of_samples():
    loc, scale = t([0.0, 1.0]).requires_grad_(), t([1.0, 2.0]).requires_grad_()
    x = D.Normal(loc, scale).rsample((4,))
    x.sum().backward()
    assert loc.grad.tolist() == [4.0, 4.0]
    np.testing.assert_allclose(scale.grad.numpy(), ((x - loc) / scale).detach().sum(0).numpy(), 1e-12)
    for dist in (D.Laplace, D.Gumbel, D.Uniform, D.Cauchy):
        a, b = t(1.0).requires_grad_(), t(2.0).requires_grad_()
        dist(a, b).rsample().backward()
        assert a.grad is not None and b.grad is not None
    logits = burn.zeros(3, requires_grad=True)
    D.RelaxedOneHotCategorical(0.5, logits=logits).rsample()[0].backward()
    assert logits.grad.abs().sum() > 0
    probs = burn.tensor([0.2, 0.8], requires_grad=True)
    drawn = D.OneHotCategoricalStraightThrough(probs).rsample()
    assert sorted(drawn.tolist()) == [0, 1]


@pytest.mark.parametrize("a, x, slope", [
    (0.1, 0.001, 0.0649072473), (0.5, 0.2, 0.7940505669), (1.0, 1.0, 1.17362116), (3.0, 2.0, 0.856564023),
    (3.0, 7.0, 1.56651761), (20.0, 25.0, 1.12506441), (300.0, 290.0, 0.98369424)])
def test_gradient_of_a_gamma_sample(a, x, slope):
    from burn._random import _gamma_slope
    assert abs(_gamma_slope(t(a), t(x)).item() / slope - 1) < 1e-3


def test_gradients_of_gamma_and_beta_means():
    a = t(2.5).requires_grad_()
    (D.Gamma(a, 2.0).rsample((20000,)).mean()).backward()
    assert abs(a.grad.item() - 0.5) < 0.02
    a, b = t(2.0).requires_grad_(), t(3.0).requires_grad_()
    D.Beta(a, b).rsample((20000,)).mean().backward()
    assert abs(a.grad.item() - 3 / 25) < 0.01 and abs(b.grad.item() + 2 / 25) < 0.01


def test_discrete_ones():
    c = D.Categorical(logits=burn.zeros(2, 3))
    assert c.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]] and c.sample((4,)).dtype is burn.int64
    assert c.enumerate_support(False).shape == (3, 1) and c.mode.tolist() == [0, 0]
    assert c.log_prob(burn.tensor([[0], [1]])).shape == (2, 2)
    assert set(D.Bernoulli(burn.full((100,), 0.5)).sample().tolist()) == {0.0, 1.0}
    assert D.Bernoulli(burn.zeros(2)).enumerate_support().tolist() == [[0, 0], [1, 1]]
    assert D.Bernoulli(0.5).mode.isnan() and D.Bernoulli(burn.tensor([0.2, 0.7])).mode.tolist() == [0, 1]
    assert D.OneHotCategorical(burn.ones(2)).enumerate_support().tolist() == [[1, 0], [0, 1]]
    counts = D.Multinomial(7, burn.tensor([0.5, 0.0, 0.5])).sample((50,))
    assert (counts.sum(-1) == 7).all() and (counts[:, 1] == 0).all()
    certain = D.Categorical(burn.tensor([0.0, 1.0, 0.0]))
    assert (certain.sample((100,)) == 1).all() and abs(certain.entropy().item()) < 1e-5


def test_policy_gradient():
    logits = burn.zeros(4, 2, requires_grad=True)
    dist = D.Categorical(logits=logits)
    action = burn.tensor([0, 1, 1, 0])
    (-(dist.log_prob(action) * burn.tensor([1.0, 2.0, 3.0, 4.0])).mean() - 0.1 * dist.entropy().mean()).backward()
    np.testing.assert_allclose(logits.grad.numpy(), [[-0.125, 0.125], [0.25, -0.25], [0.375, -0.375], [-0.5, 0.5]], 1e-5, 1e-7)


def test_reproducible():
    for make in (lambda: D.Normal(0.0, 1.0), lambda: D.Gamma(2.0, 1.0), lambda: D.Poisson(3.0),
                 lambda: D.Categorical(burn.ones(5))):
        burn.manual_seed(5)
        one = make().sample((10,))
        burn.manual_seed(5)
        assert make().sample((10,)).tolist() == one.tolist() != make().sample((10,)).tolist()


def test_transforms():
    x = t([[0.3, -1.2]])
    rows = [(D.ExpTransform(), [[1.3498588076, 0.30119421191]]), (D.SigmoidTransform(), [[0.57444251681, 0.23147521651]]),
            (D.TanhTransform(), [[0.29131261245, -0.83365460701]]), (D.AffineTransform(1.0, -2.0), [[0.4, 3.4]]),
            (D.SoftplusTransform(), [[0.85435524447, 0.26328246733]])]
    for transform, wanted in rows:
        y = transform(x)
        np.testing.assert_allclose(y.numpy(), wanted, 1e-9)
        np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), 1e-9)
        slope = ((transform(x + 1e-6) - transform(x - 1e-6)) / 2e-6).abs().log()
        np.testing.assert_allclose(transform.log_abs_det_jacobian(x, y).numpy(), slope.numpy(), 1e-6, 1e-8)
        np.testing.assert_allclose(transform.inv.log_abs_det_jacobian(y, x).numpy(), -slope.numpy(), 1e-6, 1e-8)
        assert transform.inv.inv is transform
    shares = D.StickBreakingTransform()(x)
    np.testing.assert_allclose(shares.numpy(), [[0.40295991118, 0.13819998382, 0.458840105]], 1e-9)
    np.testing.assert_allclose(D.StickBreakingTransform().inv(shares).numpy(), x.numpy(), 1e-9)
    both = D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)])
    np.testing.assert_allclose(both.inv(both(x)).numpy(), x.numpy(), 1e-12)
    np.testing.assert_allclose(both.log_abs_det_jacobian(x, both(x)).numpy(), (x + math.log(2)).numpy(), 1e-12)
    assert D.ReshapeTransform((2,), (2, 1))(x).shape == (1, 2, 1)
    cached = D.TanhTransform(cache_size=1)
    y = cached(x)
    assert cached.inv(y) is x and cached == D.TanhTransform() and D.ExpTransform() != D.TanhTransform()
    squashed = D.TransformedDistribution(D.Normal(0.0, 1.0), cached)
    assert squashed.log_prob(squashed.rsample((3,))).isfinite().all()


def test_counts_by_rate_and_by_trials():
    rates = burn.tensor([0.0, 2.0, 50.0])
    drawn = burn.poisson(rates.expand(5000, 3))
    assert drawn.dtype is burn.float32 and (drawn[:, 0] == 0).all()
    np.testing.assert_allclose(drawn.mean(0).numpy(), rates.numpy(), 0.1)
    for wrong in (burn.tensor([-1.0]), burn.tensor([1])):
        with pytest.raises(RuntimeError):
            burn.poisson(wrong)
    counts = burn.binomial(burn.tensor([10.0, 4.0]).expand(5000, 2), burn.tensor(0.5))
    np.testing.assert_allclose(counts.mean(0).numpy(), [5, 2], 0.05)
    assert burn.poisson(rates, generator=burn.Generator().manual_seed(3)).tolist() == burn.poisson(
        rates, generator=burn.Generator().manual_seed(3)).tolist()


def test_numbers_keep_the_digits_of_the_default_dtype():
    try:
        burn.set_default_dtype(burn.float64)
        assert burn.tensor([0.3]).tolist() == [0.3] and D.Normal(0.3, 1.0).loc.item() == 0.3
    finally:
        burn.set_default_dtype(burn.float32)


def test_transforms_to_constraints():
    x = t([0.3, -1.2, 0.5])
    rows = [("positive", [1.3498588, 0.3011942, 1.6487213]), ("unit_interval", [0.5744425, 0.2314752, 0.6224593]),
            ("real", x.tolist())]
    for name, wanted in rows:
        for registry in (D.biject_to, D.transform_to):
            np.testing.assert_allclose(registry(getattr(D.constraints, name))(x).numpy(), wanted, 1e-6)
    np.testing.assert_allclose(D.biject_to(D.constraints.interval(-1.0, 3.0))(x).numpy(), [1.2977701, -0.0740991, 1.4898373], 1e-6)
    np.testing.assert_allclose(D.biject_to(D.constraints.less_than(3.0))(x).numpy(), [1.6501412, 2.6988058, 1.3512787], 1e-6)
    assert abs(D.transform_to(D.constraints.simplex)(x).sum().item() - 1) < 1e-12
    for name in ("simplex", "positive", "real_vector", "lower_cholesky", "positive_definite"):
        constraint = getattr(D.constraints, name)
        y = D.transform_to(constraint)(burn.randn(3, 3, dtype=burn.float64))
        assert constraint.check(y).all(), name
    with pytest.raises(NotImplementedError, match="Boolean"):
        D.biject_to(D.constraints.boolean)


def test_von_mises():
    d = D.VonMises(t([0.5, -1.0]), t([1.5, 20.0]))
    np.testing.assert_allclose(d.log_prob(t([0.3, 0.2])).numpy(), [-0.86656457, -12.18033248], 1e-6)
    np.testing.assert_allclose(d.variance.numpy(), [0.40386677, 0.02532966], 1e-5)
    drawn = d.sample((20000,))
    found = (drawn - d.loc).cos().mean(0).numpy()
    np.testing.assert_allclose(found, 1 - d.variance.numpy(), 0.03)
    assert (drawn.abs() <= math.pi).all()


def test_cdf_of_gamma():
    np.testing.assert_allclose(D.Gamma(t([0.5, 3.0]), t([1.0, 2.0])).cdf(t([0.3, 2.0])).numpy(), [0.5614219739, 0.7618966944], 1e-9)
